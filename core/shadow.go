package core

// shadow notes in each row of a listing which of its tools an earlier row exports too. A call by
// the name of the tool alone goes to the earlier one, as long as it is able to serve (SPEC DI-8);
// nobody is silently replaced. It returns how many tools those are.
func shadow(rows []Listing) (n int) {
	if len(rows) < 2 {
		return 0
	}
	first := map[string]int{}
	for i := range rows {
		for _, t := range rows[i].Tools {
			if by, known := first[t.Name]; !known {
				first[t.Name] = i
			} else if by < i { // what one peer lists twice is its own affair
				rows[i].Shadowed = append(rows[i].Shadowed, t.Name)
				n++
			}
		}
	}
	return n
}
