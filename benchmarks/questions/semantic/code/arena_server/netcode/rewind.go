package netcode

import (
	"time"

	"arena/sim"
)

const historyTicks = 30

type frame struct {
	at  time.Time
	pos map[uint16]sim.Vec
}

// Rewinder remembers the last second so that shots count against what the
// shooter saw on screen.
type Rewinder struct {
	ring [historyTicks]frame
	head int
}

func (r *Rewinder) Push(w *sim.World, now time.Time) {
	f := frame{at: now, pos: make(map[uint16]sim.Vec, len(w.Entities))}
	for id, e := range w.Entities {
		f.pos[id] = e.Pos
	}
	r.head = (r.head + 1) % historyTicks
	r.ring[r.head] = f
}

func (r *Rewinder) At(id uint16, when time.Time) (sim.Vec, bool) {
	for i := 0; i < historyTicks; i++ {
		f := r.ring[(r.head-i+historyTicks)%historyTicks]
		if !f.at.After(when) {
			v, ok := f.pos[id]
			return v, ok
		}
	}
	return sim.Vec{}, false
}
