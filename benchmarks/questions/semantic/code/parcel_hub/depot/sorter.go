package depot

import "sort"

type Chute struct {
	Number int
	From   string
	To     string
}

type Sorter struct {
	chutes []Chute
}

func NewSorter(chutes []Chute) *Sorter {
	sort.Slice(chutes, func(i, j int) bool { return chutes[i].From < chutes[j].From })
	return &Sorter{chutes}
}

// Lane finds the chute for a postcode; 0 is the manual table.
func (s *Sorter) Lane(zip string) int {
	i := sort.Search(len(s.chutes), func(i int) bool { return s.chutes[i].To >= zip })
	if i < len(s.chutes) && s.chutes[i].From <= zip {
		return s.chutes[i].Number
	}
	return 0
}
