"""Methods that users know, to compare with."""
