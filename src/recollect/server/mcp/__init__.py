"""The operations as tools of the Model Context Protocol, with resources and prompts."""
