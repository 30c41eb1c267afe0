"""What happens in Sage, who listens, and the plugins that may change it."""
