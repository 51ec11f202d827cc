"""What every store promises, as tests by subject; `StoreContract` is all of them."""
