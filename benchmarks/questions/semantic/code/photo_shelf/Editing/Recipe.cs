using System.Text.Json;
using SixLabors.ImageSharp;
using SixLabors.ImageSharp.Processing;

namespace PhotoShelf.Editing;

/// <summary>Edits are kept as steps; the picture on disk is left alone.</summary>
public record Recipe(float Exposure, float Contrast, float Saturation, Rectangle? Crop, float Angle)
{
    public static readonly Recipe Neutral = new(1, 1, 1, null, 0);

    public void Apply(Image img)
    {
        img.Mutate(x =>
        {
            if (Angle != 0) x.Rotate(Angle);
            if (Crop is { } c) x.Crop(c);
            x.Brightness(Exposure).Contrast(Contrast).Saturate(Saturation);
        });
    }

    public string Serialize() => JsonSerializer.Serialize(this);

    public Recipe CopyLook(Recipe from)
    {
        return this with { Exposure = from.Exposure, Contrast = from.Contrast, Saturation = from.Saturation };
    }
}
