using System.Security.Cryptography;

namespace PhotoShelf.Import;

public record Imported(string Source, string Target, bool Skipped);

public class CardImporter
{
    private readonly string _root;
    private readonly HashSet<string> _known;

    public CardImporter(string root, HashSet<string> known)
    {
        _root = root;
        _known = known;
    }

    public IEnumerable<Imported> Run(string card, IProgress<double> progress, CancellationToken stop)
    {
        var all = Directory.EnumerateFiles(card, "*.*", SearchOption.AllDirectories).ToList();
        for (var i = 0; i < all.Count; i++)
        {
            stop.ThrowIfCancellationRequested();
            var sum = Convert.ToHexString(SHA1.HashData(File.ReadAllBytes(all[i])));
            if (!_known.Add(sum))
            {
                yield return new Imported(all[i], "", true);
                continue;
            }
            var target = Unoccupied(Path.Combine(_root, FolderFor(all[i]), Path.GetFileName(all[i])));
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            File.Copy(all[i], target);
            progress.Report((i + 1.0) / all.Count);
            yield return new Imported(all[i], target, false);
        }
    }

    private static string FolderFor(string path)
    {
        var taken = ExifReader.TakenAt(path) ?? File.GetLastWriteTime(path);
        return Path.Combine(taken.ToString("yyyy"), taken.ToString("MM"));
    }

    // IMG_0001.jpg -> IMG_0001 (2).jpg
    private static string Unoccupied(string path)
    {
        if (!File.Exists(path)) return path;
        var stem = Path.Combine(Path.GetDirectoryName(path)!, Path.GetFileNameWithoutExtension(path));
        for (var n = 2; ; n++)
        {
            var candidate = $"{stem} ({n}){Path.GetExtension(path)}";
            if (!File.Exists(candidate)) return candidate;
        }
    }
}
