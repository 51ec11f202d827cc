"""What every store promises, as tests by subject; `StoreContract` has all of them."""
