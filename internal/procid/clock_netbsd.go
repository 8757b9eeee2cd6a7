package procid

// monotonic is CLOCK_MONOTONIC of sys/time.h.
const monotonic = 3
