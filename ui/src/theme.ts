// Set the chosen theme, by default that of the system. This script runs before the first paint.
const chosen = localStorage.getItem("deltos-theme");
if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
