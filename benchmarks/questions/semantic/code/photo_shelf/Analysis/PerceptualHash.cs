using System.Numerics;
using SixLabors.ImageSharp;
using SixLabors.ImageSharp.PixelFormats;
using SixLabors.ImageSharp.Processing;

namespace PhotoShelf.Analysis;

public static class PerceptualHash
{
    /// <summary>dHash: brightness gradients on a 9x8 grid.</summary>
    public static ulong Compute(string path)
    {
        using var img = Image.Load<L8>(path);
        img.Mutate(x => x.Resize(9, 8));
        ulong bits = 0;
        for (var y = 0; y < 8; y++)
        {
            for (var x = 0; x < 8; x++)
            {
                bits <<= 1;
                if (img[x, y].PackedValue > img[x + 1, y].PackedValue) bits |= 1;
            }
        }
        return bits;
    }

    public static bool Alike(ulong a, ulong b, int tolerance = 6)
    {
        return BitOperations.PopCount(a ^ b) <= tolerance;
    }
}
