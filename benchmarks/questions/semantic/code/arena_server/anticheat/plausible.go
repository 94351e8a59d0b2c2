package anticheat

import (
	"math"

	"arena/sim"
)

const (
	maxSpeed = 9.5
	strikes  = 5
)

type Watch struct {
	count map[uint16]int
	last  map[uint16]sim.Vec
}

// Moved is called once per input; true means the player must be thrown out.
func (w *Watch) Moved(id uint16, to sim.Vec, dt float64) bool {
	from, ok := w.last[id]
	w.last[id] = to
	if !ok {
		return false
	}
	if math.Hypot(to.X-from.X, to.Y-from.Y) > maxSpeed*dt*1.15 {
		w.count[id]++
	}
	return w.count[id] >= strikes
}

func (w *Watch) Forgive() {
	for id := range w.count {
		if w.count[id] > 0 {
			w.count[id]--
		}
	}
}
