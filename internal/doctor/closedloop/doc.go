// Package closedloop holds no code, only tests of doctor as a whole. Each failure
// mode that brink can cause is caused, by real servers on this machine or in a
// virtual machine of brink's own, and doctor has to name it from the live kernel,
// or from the record where brink was the platform. The healthy twin of each, the
// same servers under honest load, it must not.
//
// The tests take ten minutes in all, which is go test's own limit: -timeout 20m.
// Those that speak of guests use virtual machines, the others this one.
//
// A state is held until it is seen, a bounded number of windows long, and never
// raced: the machine that runs the tests may be slow. It may also be shared: a
// window in which others left too little of the CPUs may show a healthy server
// that is not, and is then taken again, a bounded number of times.
package closedloop
