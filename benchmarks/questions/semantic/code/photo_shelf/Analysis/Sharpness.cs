using SixLabors.ImageSharp;
using SixLabors.ImageSharp.PixelFormats;
using SixLabors.ImageSharp.Processing;

namespace PhotoShelf.Analysis;

public static class Sharpness
{
    // variance of the Laplacian
    public static double Score(string path)
    {
        using var img = Image.Load<L8>(path);
        img.Mutate(x => x.Resize(800, 0));
        double sum = 0, squares = 0;
        var n = 0;
        for (var y = 1; y < img.Height - 1; y++)
        {
            for (var x = 1; x < img.Width - 1; x++)
            {
                var v = 4 * img[x, y].PackedValue - img[x - 1, y].PackedValue - img[x + 1, y].PackedValue
                        - img[x, y - 1].PackedValue - img[x, y + 1].PackedValue;
                sum += v;
                squares += v * v;
                n++;
            }
        }
        var mean = sum / n;
        return squares / n - mean * mean;
    }

    public static string BestOf(IEnumerable<string> burst)
    {
        return burst.MaxBy(Score)!;
    }
}
