"""The lab of pre-registered comparisons: a sealed rule tree decides between arms."""
