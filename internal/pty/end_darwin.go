package pty

// refer holds on to p.
func refer(p Proc) (procRef, error) {
	if !p.Alive() {
		return nil, ErrGone
	}
	return numbered(p), nil
}
