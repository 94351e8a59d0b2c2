import{a as r}from"./part-HQNK6VXD.js";import"./part-K4SABGCS.js";addEventListener("message",({data:e})=>{let s=r(e);postMessage({number:e.number,positions:s},[s.buffer])});
