package queue

import "time"

// line knows when each waiting request will leave the queue. Those that a
// worker takes up leave in order of arrival; those that give up leave in any.
type line struct {
	starts fifo
	quits  minHeap
}

func (l *line) len() int { return l.starts.n + len(l.quits) }

// advance lets go whoever has left by now.
func (l *line) advance(now time.Duration) {
	for l.starts.n > 0 && l.starts.front() <= now {
		l.starts.pop()
	}
	for len(l.quits) > 0 && l.quits[0] <= now {
		l.quits.pop()
	}
}

// fifo is a ring that grows and never shrinks. The length of buf is 0 or a
// power of two.
type fifo struct {
	buf     []time.Duration
	head, n int
}

func (f *fifo) front() time.Duration { return f.buf[f.head] }

func (f *fifo) pop() {
	f.head = (f.head + 1) & (len(f.buf) - 1)
	f.n--
}

func (f *fifo) push(t time.Duration) {
	if f.n == len(f.buf) {
		f.grow()
	}
	f.buf[(f.head+f.n)&(len(f.buf)-1)] = t
	f.n++
}

func (f *fifo) grow() {
	buf := make([]time.Duration, max(16, 2*len(f.buf)))
	copied := copy(buf, f.buf[f.head:])
	copy(buf[copied:], f.buf[:f.head])
	f.buf, f.head = buf, 0
}

// minHeap is a binary heap with the least time at index 0. container/heap
// boxes every value and calls through an interface, at several times the cost.
type minHeap []time.Duration

func (h *minHeap) push(t time.Duration) {
	a := append(*h, t)
	i := len(a) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if a[parent] <= t {
			break
		}
		a[i] = a[parent]
		i = parent
	}
	a[i] = t
	*h = a
}

func (h *minHeap) pop() {
	a := *h
	last := a[len(a)-1]
	*h = a[:len(a)-1]
	if len(*h) > 0 {
		h.replaceMin(last)
	}
}

// replaceMin puts t in the place of the least time.
func (h minHeap) replaceMin(t time.Duration) {
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if right := child + 1; right < len(h) && h[right] < h[child] {
			child = right
		}
		if t <= h[child] {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = t
}
