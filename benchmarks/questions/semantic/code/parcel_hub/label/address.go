package label

import (
	"regexp"
	"strings"
)

type Address struct {
	Name    string
	Street  string
	House   string
	ZIP     string
	City    string
	Country string
}

var (
	abbreviations = strings.NewReplacer("str.", "straße", "Str.", "Straße", "pl.", "platz", "Pl.", "Platz")
	houseRe       = regexp.MustCompile(`^(.*?)\s+(\d+\s*[a-zA-Z]?(?:/\d+)*)$`)
	spaces        = regexp.MustCompile(`\s+`)
)

// Normalize makes two spellings of one place compare equal.
func Normalize(a Address) Address {
	a.Street = abbreviations.Replace(spaces.ReplaceAllString(strings.TrimSpace(a.Street), " "))
	if a.House == "" {
		if m := houseRe.FindStringSubmatch(a.Street); m != nil {
			a.Street, a.House = m[1], strings.ReplaceAll(m[2], " ", "")
		}
	}
	a.City = strings.Title(strings.ToLower(a.City))
	return a
}

func SameDoor(a, b Address) bool {
	a, b = Normalize(a), Normalize(b)
	return a.ZIP == b.ZIP && a.Street == b.Street && a.House == b.House
}
