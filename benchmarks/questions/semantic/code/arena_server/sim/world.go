package sim

import (
	"math"
	"math/rand"
)

type Vec struct{ X, Y float64 }

type Entity struct {
	ID     uint16
	Pos    Vec
	Vel    Vec
	Radius float64
	HP     int
	Team   uint8
}

type World struct {
	Tick     uint32
	Entities map[uint16]*Entity
	rng      *rand.Rand
	spawns   [2][]Vec
}

func (w *World) Step(dt float64) {
	for _, e := range w.Entities {
		e.Pos.X += e.Vel.X * dt
		e.Pos.Y += e.Vel.Y * dt
	}
	w.separate()
	w.Tick++
}

// separate pushes overlapping circles apart, half each.
func (w *World) separate() {
	for ida, a := range w.Entities {
		for idb, b := range w.Entities {
			if ida >= idb {
				continue
			}
			dx, dy := b.Pos.X-a.Pos.X, b.Pos.Y-a.Pos.Y
			d := math.Hypot(dx, dy)
			over := a.Radius + b.Radius - d
			if over <= 0 || d == 0 {
				continue
			}
			nx, ny := dx/d*over/2, dy/d*over/2
			a.Pos.X, a.Pos.Y = a.Pos.X-nx, a.Pos.Y-ny
			b.Pos.X, b.Pos.Y = b.Pos.X+nx, b.Pos.Y+ny
		}
	}
}

// Respawn picks the point farthest from any enemy.
func (w *World) Respawn(e *Entity) {
	best, bestDist := w.spawns[e.Team][0], -1.0
	for _, p := range w.spawns[e.Team] {
		near := math.Inf(1)
		for _, o := range w.Entities {
			if o.Team != e.Team && o.HP > 0 {
				near = math.Min(near, math.Hypot(o.Pos.X-p.X, o.Pos.Y-p.Y))
			}
		}
		if near > bestDist {
			best, bestDist = p, near
		}
	}
	e.Pos, e.Vel, e.HP = best, Vec{}, 100
}
