import{a as r}from"/static/part-4AXYW4VE.js";import"/static/part-IFEDWXLY.js";addEventListener("message",({data:e})=>{let s=r(e);postMessage({number:e.number,positions:s},[s.buffer])});
