package guest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// card is the only network card; nothing renames it.
const card = "eth0"

// setUpNetwork brings the loopback interface up and, if there is an address
// ("10.0.2.15/24"), the card with it. There is no route to anywhere else.
func setUpNetwork(address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	defer unix.Close(fd)
	if err := bringUp(fd, "lo"); err != nil || address == "" {
		return err
	}
	prefix, err := netip.ParsePrefix(address)
	if err != nil || !prefix.Addr().Is4() {
		return fmt.Errorf("network: %s=%q: it is no IPv4 address with a prefix length", AddressParam, address)
	}
	mask := net.CIDRMask(prefix.Bits(), 32)
	for _, set := range []struct {
		request uint
		addr    []byte
	}{
		{unix.SIOCSIFADDR, prefix.Addr().AsSlice()},
		{unix.SIOCSIFNETMASK, mask},
	} {
		ifr, err := unix.NewIfreq(card)
		if err != nil {
			return err
		}
		if err := errors.Join(ifr.SetInet4Addr(set.addr), unix.IoctlIfreq(fd, set.request, ifr)); err != nil {
			return fmt.Errorf("network: address of %s: %w", card, err)
		}
	}
	return bringUp(fd, card)
}

// bringUp is netdevice(7)'s SIOCSIFFLAGS.
func bringUp(fd int, name string) error {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return fmt.Errorf("network: bring %s up: %w", name, err)
	}
	return nil
}
