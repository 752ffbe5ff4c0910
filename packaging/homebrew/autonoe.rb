class Autonoe < Formula
  desc "Turns a written specification into software that has been checked"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

@SOURCES@

  def install
    bin.install "bin/autonoe"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/autonoe"
    zsh_completion.install "share/zsh/site-functions/_autonoe"
    fish_completion.install "share/fish/vendor_completions.d/autonoe.fish"
    doc.install Dir["share/doc/autonoe/*"]
  end

  test do
    assert_match "autonoe #{version}", shell_output("#{bin}/autonoe --version")
  end
end
