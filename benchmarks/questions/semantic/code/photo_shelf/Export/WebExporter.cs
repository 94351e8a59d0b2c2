using SixLabors.Fonts;
using SixLabors.ImageSharp;
using SixLabors.ImageSharp.Drawing.Processing;
using SixLabors.ImageSharp.Formats.Jpeg;
using SixLabors.ImageSharp.Processing;

namespace PhotoShelf.Export;

public class WebExporter
{
    private readonly Font _font = SystemFonts.CreateFont("Segoe UI", 22);

    public void Write(Image img, string target, int longEdge, string? copyright)
    {
        var scale = (double)longEdge / Math.Max(img.Width, img.Height);
        if (scale < 1) img.Mutate(x => x.Resize((int)(img.Width * scale), (int)(img.Height * scale)));
        if (copyright != null) Stamp(img, copyright);
        img.Metadata.ExifProfile = null;
        img.Save(target, new JpegEncoder { Quality = 82 });
    }

    private void Stamp(Image img, string text)
    {
        var at = new PointF(18, img.Height - 40);
        img.Mutate(x => x.DrawText(text, _font, Color.White.WithAlpha(0.6f), at));
    }

    public static bool EnoughForPrint(int width, int height, double cmWide, double cmHigh, int dpi = 220)
    {
        return width >= cmWide / 2.54 * dpi && height >= cmHigh / 2.54 * dpi;
    }
}
