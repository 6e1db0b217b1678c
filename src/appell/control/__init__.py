"""Control: laws, controllers and the hardware they run against."""
