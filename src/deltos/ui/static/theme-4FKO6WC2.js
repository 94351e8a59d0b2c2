var e=localStorage.getItem("deltos-theme");(e==="dark"||e==="light")&&(document.documentElement.dataset.theme=e);
