"""The contract tests of a store, by subject; `StoreContract` combines them."""
