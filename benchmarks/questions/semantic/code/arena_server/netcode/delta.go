package netcode

import (
	"bytes"
	"encoding/binary"

	"arena/sim"
)

const quantum = 64.0

func quantize(v float64) int16 {
	return int16(v * quantum)
}

// EncodeDelta writes only entities that changed since the acknowledged tick.
func EncodeDelta(base, cur map[uint16]sim.Entity) []byte {
	var buf bytes.Buffer
	for id, e := range cur {
		old, known := base[id]
		if known && old.Pos == e.Pos && old.HP == e.HP {
			continue
		}
		_ = binary.Write(&buf, binary.BigEndian, id)
		_ = binary.Write(&buf, binary.BigEndian, quantize(e.Pos.X))
		_ = binary.Write(&buf, binary.BigEndian, quantize(e.Pos.Y))
		_ = binary.Write(&buf, binary.BigEndian, uint8(e.HP))
	}
	return buf.Bytes()
}
