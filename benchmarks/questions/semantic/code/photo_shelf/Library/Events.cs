namespace PhotoShelf.Library;

public record Shot(long Id, DateTime At, double? Lat, double? Lon);

public static class Events
{
    /// <summary>A pause of six hours begins a new one.</summary>
    public static List<List<Shot>> Split(IEnumerable<Shot> shots, double hours = 6)
    {
        var outList = new List<List<Shot>>();
        foreach (var s in shots.OrderBy(s => s.At))
        {
            if (outList.Count == 0 || (s.At - outList[^1][^1].At).TotalHours > hours) outList.Add(new List<Shot>());
            outList[^1].Add(s);
        }
        return outList;
    }

    public static List<Shot> OnThisDay(IEnumerable<Shot> shots, DateTime today)
    {
        return shots.Where(s => s.At.Month == today.Month && s.At.Day == today.Day && s.At.Year < today.Year).ToList();
    }

    public static void ShiftClock(List<Shot> shots, TimeSpan by)
    {
        for (var i = 0; i < shots.Count; i++) shots[i] = shots[i] with { At = shots[i].At + by };
    }
}
