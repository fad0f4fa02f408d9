"""The command: thin subcommands over the public functions of the package."""
