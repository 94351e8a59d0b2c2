using Microsoft.Data.Sqlite;

namespace PhotoShelf.Library;

public class Catalog : IDisposable
{
    private readonly SqliteConnection _db;

    public Catalog(string file)
    {
        _db = new SqliteConnection($"Data Source={file}");
        _db.Open();
    }

    public void Rate(long photo, int stars)
    {
        using var cmd = _db.CreateCommand();
        cmd.CommandText = "UPDATE photo SET stars = $s WHERE id = $id";
        cmd.Parameters.AddWithValue("$s", Math.Clamp(stars, 0, 5));
        cmd.Parameters.AddWithValue("$id", photo);
        cmd.ExecuteNonQuery();
    }

    /// <summary>Hidden for thirty days before it really goes.</summary>
    public void Trash(long photo)
    {
        using var cmd = _db.CreateCommand();
        cmd.CommandText = "UPDATE photo SET trashed_at = datetime('now') WHERE id = $id";
        cmd.Parameters.AddWithValue("$id", photo);
        cmd.ExecuteNonQuery();
    }

    public List<(long Id, string Path)> Vanished()
    {
        using var cmd = _db.CreateCommand();
        cmd.CommandText = "SELECT id, path FROM photo WHERE trashed_at IS NULL";
        using var r = cmd.ExecuteReader();
        var gone = new List<(long, string)>();
        while (r.Read())
        {
            if (!File.Exists(r.GetString(1))) gone.Add((r.GetInt64(0), r.GetString(1)));
        }
        return gone;
    }

    public void Dispose() => _db.Dispose();
}
