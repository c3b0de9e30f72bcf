package etcdtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Net is the network of connections between the members of a cluster, and from clients to them.
// It can be cut, one way or both ways, between any two of them: then the bytes that the one sends
// stay where they are until the cut is healed, as with a network whose packets are lost, and
// connections stay open. Nodes are numbered: 0 and up are members, -1 and down are clients. Methods
// may be called by any number of goroutines.
type Net struct {
	mu      sync.Mutex
	cuts    map[way]bool
	late    map[way]bool  // of the cuts
	changed chan struct{} // closed when cuts change, or the net is closed
	closed  bool
	members map[string]int // by their IDs, as they write them
	open    []io.Closer
}

// A way is from one node to another one.
type way struct{ from, to int }

// NewNet returns a net without cuts, which the caller closes.
func NewNet() *Net {
	return &Net{cuts: map[way]bool{}, late: map[way]bool{}, changed: make(chan struct{}), members: map[string]int{}}
}

// Close ends all connections.
func (n *Net) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.closed = true
	close(n.changed)
	for _, c := range n.open {
		_ = c.Close()
	}
}

// Cut cuts the ways from a node to some others.
func (n *Net) Cut(from int, to ...int) {
	n.change(func() {
		for _, t := range to {
			n.cuts[way{from, t}] = true
		}
	})
}

// Late cuts the ways from a client to some members as well. The bytes of the first tenth of a
// second arrive when the cut is healed, and none after them: not those that say it waits no longer.
func (n *Net) Late(client int, to ...int) {
	n.change(func() {
		for _, t := range to {
			n.cuts[way{client, t}], n.late[way{client, t}] = true, true
		}
	})
}

// Part cuts node a off from each of some nodes, both ways.
func (n *Net) Part(a int, from ...int) {
	for _, b := range from {
		n.Cut(a, b)
		n.Cut(b, a)
	}
}

// Break ends the connections of a client. Bytes that they have not brought are lost.
func (n *Net) Break(client int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.open {
		if c, ok := c.(*end); ok && c.of == client {
			_ = c.Close()
		}
	}
}

// An end is one of the two ends of a connection of a client.
type end struct {
	net.Conn
	of int
}

// Heal ends all cuts.
func (n *Net) Heal() { n.change(func() { clear(n.cuts); clear(n.late) }) }

func (n *Net) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f(); !n.closed {
		close(n.changed)
		n.changed = make(chan struct{})
	}
}

// Endpoints returns addresses at which a client, of a number below 0, reaches the members.
func (n *Net) Endpoints(c *Cluster, client int) (list []string, err error) {
	for i, endpoint := range c.Endpoints() {
		at, err := n.listen(i, endpoint, client, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, at)
	}
	return list, nil
}

// member returns the address at which other members reach one. Their messages say who they are.
func (n *Net) member(i int, peer string) (string, error) { return n.listen(i, peer, 0, serverFrom) }

// learn finds out which IDs members have.
func (n *Net) learn(ctx context.Context, c *Cluster) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := client.MemberList(ctx)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range list.Members {
		for i, s := range c.specs {
			if s.Name == m.Name {
				n.members[strconv.FormatUint(m.ID, 16)] = i
			}
		}
	}
	return nil
}

var fromHeader = []byte("X-Server-From: ")

// serverFrom returns the ID of the member that sends a request, if it is there.
func serverFrom(b []byte) (id string, ok bool) {
	_, after, ok := bytes.Cut(b, fromHeader)
	if !ok {
		return "", false
	}
	line, _, ok := bytes.Cut(after, []byte("\r\n"))
	return string(line), ok
}

// listen listens for node to, at an address, and returns its own.
func (n *Net) listen(
	to int, address string, from int, find func([]byte) (string, bool),
) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	if err := n.keep(l); err != nil {
		return "", err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // it was closed
			}
			go n.join(conn, u.Host, &link{net: n, from: from, to: to, find: find})
		}
	}()
	return u.Scheme + "://" + l.Addr().String(), nil
}

var errNetClosed = errors.New("etcdtest: the net is closed")

func (n *Net) keep(c io.Closer) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return errors.Join(errNetClosed, c.Close())
	}
	n.open = append(n.open, c)
	return nil
}

// forget closes connections that were kept.
func (n *Net) forget(all ...io.Closer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
		n.open = slices.DeleteFunc(n.open, func(o io.Closer) bool { return o == c })
	}
}

// A link is a connection to node to, from a client, or from the member whose ID find finds in the
// bytes that it sends.
type link struct {
	net      *Net
	from, to int
	find     func([]byte) (string, bool)
	id       string // that was found; the net's mu guards it
}

// join moves the bytes of a connection to an address, and back, until one of the two ends.
func (n *Net) join(from net.Conn, address string, l *link) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		_ = from.Close()
		return
	}
	from, to = &end{from, l.from}, &end{to, l.from}
	if n.keep(from) != nil || n.keep(to) != nil {
		n.forget(from, to)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.move(from, to, true); n.forget(from, to) })
	both.Go(func() { l.move(to, from, false); n.forget(from, to) })
	both.Wait()
}

// move moves bytes, out to the node that the link is to, or back.
func (l *link) move(from, to net.Conn, out bool) {
	b := make([]byte, 32<<10)
	for {
		k, err := from.Read(b)
		if k > 0 {
			if out && l.find != nil {
				l.look(b[:k])
			}
			late := out && l.late()
			if late {
				b = append(b[:k:k], gather(from)...)
				k = len(b)
			}
			if l.pass(out) != nil {
				return
			}
			if _, err := to.Write(b[:k]); err != nil {
				return
			}
			if late {
				time.Sleep(5 * gathering) // it would not be answered if the connection ended at once
				return
			}
		}
		if err != nil {
			_ = l.pass(out) // the end does not overtake bytes that were cut
			return
		}
	}
}

// gathering is for how long bytes that come late are gathered.
const gathering = 100 * time.Millisecond

// gather returns the bytes that come within that time.
func gather(from net.Conn) []byte {
	var b bytes.Buffer
	if from.SetReadDeadline(time.Now().Add(gathering)) == nil {
		_, _ = b.ReadFrom(from) // until the deadline
	}
	return b.Bytes()
}

// late reports whether the way out is cut, and its bytes come late.
func (l *link) late() bool {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	return l.net.late[way{l.from, l.to}]
}

func (l *link) look(b []byte) {
	if id, ok := l.find(b); ok {
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		l.id = id
	}
}

// pass waits until the way, out or back, is not cut.
func (l *link) pass(out bool) error {
	for {
		l.net.mu.Lock()
		closed, cut, changed := l.net.closed, l.cut(out), l.net.changed
		l.net.mu.Unlock()
		switch {
		case closed:
			return errNetClosed
		case !cut:
			return nil
		}
		<-changed
	}
}

// cut reports whether the way, out or back, is cut: if it is not known yet from whom, whether one
// from any member is. The net's mu is held.
func (l *link) cut(out bool) bool {
	from, known := l.from, true
	if l.find != nil {
		from, known = l.net.members[l.id]
	}
	for w, cut := range l.net.cuts {
		if !out {
			w.from, w.to = w.to, w.from
		}
		if cut && w.to == l.to && (w.from == from || !known && w.from >= 0) {
			return true
		}
	}
	return false
}
