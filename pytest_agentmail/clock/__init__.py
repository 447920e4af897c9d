"""Time: the clock everything waits on."""
