"""How much was lost: paired figures, spectra, the layer that diverges first, and the gate."""
