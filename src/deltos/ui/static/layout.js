import{a as r}from"/static/part-WKKZYG7O.js";import"/static/part-IFEDWXLY.js";addEventListener("message",({data:e})=>{let s=r(e);postMessage({number:e.number,positions:s},[s.buffer])});
