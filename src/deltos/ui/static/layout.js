import{a as r}from"./part-XXCLEF37.js";import"./part-K4SABGCS.js";addEventListener("message",({data:e})=>{let s=r(e);postMessage({number:e.number,positions:s},[s.buffer])});
