{
  description = "Turns a written specification into software that has been checked";

  # No nixpkgs: the binary is static, and Nix itself can download and unpack an archive.
  outputs = { self }:
    let
      archives = {
@SOURCES@
      };
      packageOf = system: archive:
        let
          fetched = derivation {
            name = archive.name;
            system = "builtin";
            builder = "builtin:fetchurl";
            url = archive.url;
            urls = [ archive.url ];
            outputHashMode = "flat";
            outputHashAlgo = "sha256";
            outputHash = archive.sha256;
            unpack = false;
            executable = false;
            preferLocalBuild = true;
          };
          unpacked = derivation {
            name = "autonoe-@VERSION@-files";
            system = "builtin";
            builder = "builtin:unpack-channel";
            src = fetched;
            channelName = "autonoe";
            preferLocalBuild = true;
          };
        in
        derivation {
          name = "autonoe-@VERSION@";
          system = "builtin";
          builder = "builtin:buildenv";
          derivations = [ "true" 5 1 "${unpacked}/autonoe" ];
          manifest = "/dev/null";
          preferLocalBuild = true;
        };
    in
    {
      packages = builtins.mapAttrs (system: archive: { default = packageOf system archive; }) archives;
      apps = builtins.mapAttrs
        (system: archive: {
          default = { type = "app"; program = "${packageOf system archive}/bin/autonoe"; };
        })
        archives;
    };
}
