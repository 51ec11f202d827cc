"""recollect on PostgreSQL beside what one would write in SQL: exact rankings, indexes of the nearest, and writing."""
