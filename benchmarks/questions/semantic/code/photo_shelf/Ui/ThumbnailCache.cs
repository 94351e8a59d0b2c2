using System.Windows.Media.Imaging;

namespace PhotoShelf.Ui;

public class ThumbnailCache
{
    private readonly int _capacity;
    private readonly LinkedList<(long Id, BitmapSource Bmp)> _order = new();
    private readonly Dictionary<long, LinkedListNode<(long Id, BitmapSource Bmp)>> _map = new();

    public ThumbnailCache(int capacity) => _capacity = capacity;

    public BitmapSource Get(long id, Func<long, BitmapSource> load)
    {
        if (_map.TryGetValue(id, out var node))
        {
            _order.Remove(node);
            _order.AddFirst(node);
            return node.Value.Bmp;
        }
        var bmp = load(id);
        bmp.Freeze();
        _map[id] = _order.AddFirst((id, bmp));
        if (_map.Count > _capacity)
        {
            _map.Remove(_order.Last!.Value.Id);
            _order.RemoveLast();
        }
        return bmp;
    }
}
