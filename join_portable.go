//go:build !linux || solehold_portable

package solehold

import (
	"errors"
	"io/fs"

	"github.com/solehold/solehold/internal/datadir"
	"github.com/solehold/solehold/internal/oslock"
	"github.com/solehold/solehold/internal/record"
)

// sit takes the seat for a process that has inherited the anchor of its holder. What
// is above a process proves nothing here, since nobody tells who has a lock: a program
// whose wrapper did not hand the anchor down learns that. Told of an owner it would
// leave, as if another copy were at work.
func (c *claim) sit(*record.Record) (bool, error) {
	anchor, found := oslock.Inherited(c.state.FD(), c.anchorName())
	if !found {
		return false, &OpError{Path: c.dir.Given(), Reason: Unsupported, Err: errors.New("the solehold run that started this program has it, and did not hand it down to this process, " +
			"by which alone this system tells its programs from others: let run start the program itself, without a shell or another program between, or leave the lock to one of the two")}
	}
	seat, err := c.seat()
	if err != nil {
		return false, opError("take the seat below solehold run", c.dir.Given(), err)
	}
	if oslock.TryLock(seat.FD(), seatByte()) != nil {
		closeSeat(seat)
		return false, nil
	}
	c.mark = mark{Anchor: anchor, seat: seat, sits: true}
	if c.inPlace() != nil || !anchorAlone && c.state.Same(datadir.SeatName, seat) != nil {
		c.rise()
		return false, nil
	}
	return true, nil
}

// seatByte is what carries the seat: where files are locked as a whole it is a file of
// its own.
func seatByte() oslock.Byte {
	if anchorAlone {
		return oslock.Seat
	}
	return oslock.Owner
}

// seat opens what carries the seat.
func (c *claim) seat() (datadir.File, error) {
	if anchorAlone {
		return c.lock, nil
	}
	return c.state.OpenWrite(datadir.SeatName)
}

func closeSeat(seat datadir.File) {
	if !anchorAlone {
		seat.Close()
	}
}

// seatTaken asks whether somebody has the seat.
func (c *claim) seatTaken() (bool, error) {
	if anchorAlone {
		return oslock.Held(c.lock.FD(), oslock.Seat)
	}
	seat, err := c.state.OpenRead(datadir.SeatName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // nobody ever had it
	}
	if err != nil {
		return false, err
	}
	defer seat.Close()
	return oslock.Held(seat.FD(), seatByte())
}

// rise gives up the seat. The anchor stays: it is the wrapper's, and whoever else it
// was handed to.
func (c *claim) rise() {
	oslock.Unlock(c.mark.seat.FD(), seatByte())
	closeSeat(c.mark.seat)
	c.mark = mark{}
}

// tellWrapper is for systems with a socket for that.
func tellWrapper(string) error { return errors.ErrUnsupported }
