package guestnet

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const (
	nic = 1
	mtu = 1500
	// ethernetHeader is what comes before an IP packet in a frame.
	ethernetHeader = 14
	// maxFrame bounds what may be announced; QEMU without offloads sends at
	// most ethernetHeader + mtu, and a VLAN tag.
	maxFrame   = 64 << 10
	lengthSize = 4
	// queued is how many frames wait when the virtual machine does not read;
	// what exceeds them is lost, as on a wire.
	queued = 512
	// batch is how many bytes go out in one write.
	batch = 64 << 10
)

// node is one end of a wire: a stack with one Ethernet interface.
type node struct {
	stack *stack.Stack
	link  *channel.Endpoint
}

func newNode(addr, mac string) (*node, error) {
	hw, err := net.ParseMAC(mac)
	if err != nil {
		return nil, err
	}
	ip := tcpip.AddrFrom4(netip.MustParseAddr(addr).As4())
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{arp.NewProtocol, ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, icmp.NewProtocol4},
	})
	// The Ethernet layer subtracts its header from the link's MTU.
	n := &node{stack: s, link: channel.New(queued, mtu+ethernetHeader, tcpip.LinkAddress(hw))}
	subnet := tcpip.AddressWithPrefix{Address: ip, PrefixLen: PrefixLen}
	sack, moderate := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(true)
	for _, step := range []struct {
		what string
		err  tcpip.Error
	}{
		{"SACK", s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)},
		{"receive buffers", s.SetTransportProtocolOption(tcp.ProtocolNumber, &moderate)},
		{"interface", s.CreateNIC(nic, ethernet.New(n.link))},
		{"address", s.AddProtocolAddress(nic, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: subnet}, stack.AddressProperties{})},
	} {
		if step.err != nil {
			return nil, fmt.Errorf("the guest's network: %s: %s", step.what, step.err)
		}
	}
	s.SetRouteTable([]tcpip.Route{{Destination: subnet.Subnet(), NIC: nic}})
	return n, nil
}

// carry moves frames between the stack and the wire until one side or ctx
// ends, and closes the wire.
func (n *node) carry(ctx context.Context, wire net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { wire.Close() })()
	sent := make(chan error, 1)
	go func() {
		sent <- n.send(ctx, wire)
		cancel()
	}()
	err := n.receive(wire)
	cancel()
	return errors.Join(err, <-sent)
}

// send writes what the stack sends; its error is nil when ctx ends.
func (n *node) send(ctx context.Context, wire io.Writer) error {
	var out []byte
	for {
		p := n.link.ReadContext(ctx)
		if p == nil {
			return nil
		}
		out = appendFrame(out[:0], p)
		for len(out) < batch {
			if p = n.link.Read(); p == nil {
				break
			}
			out = appendFrame(out, p)
		}
		if _, err := wire.Write(out); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func appendFrame(b []byte, p *stack.PacketBuffer) []byte {
	defer p.DecRef()
	b = binary.BigEndian.AppendUint32(b, uint32(p.Size()))
	for _, part := range p.AsSlices() {
		b = append(b, part...)
	}
	return b
}

// receive hands what arrives to the stack. Its error is io.EOF when the wire
// ends between two frames.
func (n *node) receive(wire io.Reader) error {
	r := bufio.NewReaderSize(wire, batch)
	var length [lengthSize]byte
	for {
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(length[:])
		if size < ethernetHeader || size > maxFrame {
			return fmt.Errorf("the virtual machine announced a frame of %d bytes; %d to %d are possible", size, ethernetHeader, maxFrame)
		}
		view := buffer.NewViewSize(int(size))
		if _, err := io.ReadFull(r, view.AsSlice()); err != nil {
			view.Release()
			return err
		}
		p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(view)})
		n.link.InjectInbound(0, p) // the Ethernet layer reads the protocol
		p.DecRef()
	}
}

// abort ends all connections and listeners, without a word to the other side.
func (n *node) abort() {
	n.link.Close()
	for _, e := range n.stack.RegisteredEndpoints() {
		e.Abort()
	}
}

// destroy frees the stack. Nothing may use it any more.
func (n *node) destroy() {
	n.abort()
	n.stack.Destroy()
}
