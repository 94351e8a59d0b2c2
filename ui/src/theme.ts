// Runs before the first paint and sets the chosen theme; default: the system's.
const chosen = localStorage.getItem("deltos-theme");
if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
