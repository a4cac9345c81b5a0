"""The application: the settings, the wiring that knows every lab, and the surfaces that people use."""
