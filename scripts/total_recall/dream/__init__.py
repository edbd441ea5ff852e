"""What a night does to the memory, as values: what leaves, under which name it is found again. No I/O, no clock."""
