package server

import "golang.org/x/sys/unix"

// The peer's uid and its process come from two options here.
func peerOfSocket(fd int) (peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return peer{}, err
	}
	return peer{uid: int(cred.Uid), pid: pid}, nil
}
