"""What can be asked of recollect from outside its process, and by whom."""
