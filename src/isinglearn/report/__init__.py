"""What a run leaves behind for people: pictures drawn from plain data."""
