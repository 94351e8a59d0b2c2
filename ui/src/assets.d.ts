// A file that the build copies under a name made of its content; what is imported is its address.
declare module "*.svg" {
  const address: string;
  export default address;
}
