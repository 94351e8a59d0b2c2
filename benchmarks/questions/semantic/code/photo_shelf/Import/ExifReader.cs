using MetadataExtractor;
using MetadataExtractor.Formats.Exif;

namespace PhotoShelf.Import;

public static class ExifReader
{
    public static DateTime? TakenAt(string path)
    {
        var dir = ImageMetadataReader.ReadMetadata(path).OfType<ExifSubIfdDirectory>().FirstOrDefault();
        return dir != null && dir.TryGetDateTime(ExifDirectoryBase.TagDateTimeOriginal, out var t) ? t : null;
    }

    public static (double Lat, double Lon)? Place(string path)
    {
        var gps = ImageMetadataReader.ReadMetadata(path).OfType<GpsDirectory>().FirstOrDefault();
        var loc = gps?.GetGeoLocation();
        return loc is null || loc.IsZero ? null : (loc.Latitude, loc.Longitude);
    }

    /// <summary>Degrees clockwise so that the horizon is level.</summary>
    public static int Turn(string path)
    {
        var dir = ImageMetadataReader.ReadMetadata(path).OfType<ExifIfd0Directory>().FirstOrDefault();
        if (dir is null || !dir.TryGetInt32(ExifDirectoryBase.TagOrientation, out var o)) return 0;
        return o switch { 3 => 180, 6 => 90, 8 => 270, _ => 0 };
    }
}
