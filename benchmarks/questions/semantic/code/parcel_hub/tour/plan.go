package tour

import "math"

type Stop struct {
	ID       string
	Lat, Lon float64
	Kg       float64
	From, To int // minutes of the day, 0 and 1440 if the recipient does not care
}

func Haversine(a, b Stop) float64 {
	const r = 6371.0
	rad := math.Pi / 180
	dLat, dLon := (b.Lat-a.Lat)*rad, (b.Lon-a.Lon)*rad
	h := math.Pow(math.Sin(dLat/2), 2) + math.Cos(a.Lat*rad)*math.Cos(b.Lat*rad)*math.Pow(math.Sin(dLon/2), 2)
	return 2 * r * math.Asin(math.Sqrt(h))
}

func Nearest(start Stop, stops []Stop) []Stop {
	left := append([]Stop(nil), stops...)
	out := make([]Stop, 0, len(stops))
	cur := start
	for len(left) > 0 {
		best := 0
		for i := range left {
			if Haversine(cur, left[i]) < Haversine(cur, left[best]) {
				best = i
			}
		}
		cur = left[best]
		out = append(out, cur)
		left = append(left[:best], left[best+1:]...)
	}
	return out
}

// TwoOpt uncrosses the path until nothing gets shorter.
func TwoOpt(p []Stop) []Stop {
	for improved := true; improved; {
		improved = false
		for i := 1; i < len(p)-2; i++ {
			for j := i + 1; j < len(p)-1; j++ {
				before := Haversine(p[i-1], p[i]) + Haversine(p[j], p[j+1])
				after := Haversine(p[i-1], p[j]) + Haversine(p[i], p[j+1])
				if after < before-1e-6 {
					for a, b := i, j; a < b; a, b = a+1, b-1 {
						p[a], p[b] = p[b], p[a]
					}
					improved = true
				}
			}
		}
	}
	return p
}
