package procfs

import (
	"cmp"
	"maps"
	"slices"
)

// LockRow is a lock of /proc/locks with those that wait for it, joined over several readings.
type LockRow struct {
	// Lock is the row; its ID and Depth are those of the newest reading that had it.
	Lock Lock
	// Seen counts the readings that had it.
	Seen int
	// Waiters are the rows behind it.
	Waiters []LockRow
}

// SampleLocks reads /proc/locks several times and joins what is the same lock: the kernel builds the list a page at a
// time, so that one reading may miss what does not change at all. Rows come in a fixed order.
func (f FS) SampleLocks(reads int) ([]LockRow, error) {
	held := map[Lock]*LockRow{}
	waiting := map[Lock]map[Lock]*LockRow{}
	for range reads {
		rows, err := f.Locks()
		if err != nil {
			return nil, err
		}
		joinRows(rows, held, waiting)
	}
	all := sortedRows(held)
	for i := range all {
		all[i].Waiters = sortedRows(waiting[nameless(all[i].Lock)])
	}
	return all, nil
}

// joinRows adds one reading. Rows that the list shows twice count once.
func joinRows(rows []Lock, held map[Lock]*LockRow, waiting map[Lock]map[Lock]*LockRow) {
	seen := map[[2]Lock]bool{}
	var holder Lock
	for _, row := range rows {
		key := nameless(row)
		table := held
		if row.Waiting {
			if waiting[holder] == nil {
				waiting[holder] = map[Lock]*LockRow{}
			}
			table = waiting[holder]
		} else {
			holder = key
		}
		if table[key] == nil {
			table[key] = &LockRow{}
		}
		table[key].Lock = row
		if pair := [2]Lock{holder, key}; !seen[pair] {
			seen[pair] = true
			table[key].Seen++
		}
	}
}

// nameless is what stays the same of a lock from one reading to the next.
func nameless(l Lock) Lock {
	l.ID, l.Depth = 0, 0
	return l
}

func sortedRows(table map[Lock]*LockRow) []LockRow {
	var all []LockRow
	for row := range maps.Values(table) {
		all = append(all, *row)
	}
	slices.SortFunc(all, func(a, b LockRow) int {
		x, y := a.Lock, b.Lock
		return cmp.Or(cmp.Compare(x.Major, y.Major), cmp.Compare(x.Minor, y.Minor), cmp.Compare(x.Inode, y.Inode),
			cmp.Compare(x.Start, y.Start), cmp.Compare(x.Type, y.Type), cmp.Compare(x.PID, y.PID), cmp.Compare(x.Access, y.Access))
	})
	return all
}
