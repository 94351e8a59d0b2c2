package tour

type Van struct {
	Plate    string
	MaxKg    float64
	MaxStops int
	Load     []Stop
	kg       float64
}

func (v *Van) Fits(s Stop) bool {
	return v.kg+s.Kg <= v.MaxKg && len(v.Load) < v.MaxStops
}

// Spread fills vehicle after vehicle; the second result did not find a seat.
func Spread(stops []Stop, vans []*Van) (left []Stop) {
	for _, s := range stops {
		placed := false
		for _, v := range vans {
			if v.Fits(s) {
				v.Load = append(v.Load, s)
				v.kg += s.Kg
				placed = true
				break
			}
		}
		if !placed {
			left = append(left, s)
		}
	}
	return left
}

func MissedWindows(path []Stop, startMin int, kmh, serviceMin float64) []string {
	var late []string
	clock := float64(startMin)
	for i, s := range path {
		if i > 0 {
			clock += Haversine(path[i-1], s) / kmh * 60
		}
		if clock < float64(s.From) {
			clock = float64(s.From)
		}
		if clock > float64(s.To) {
			late = append(late, s.ID)
		}
		clock += serviceMin
	}
	return late
}
